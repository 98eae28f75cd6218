"""Images and their classes: reading, fixed splits, permuted and spherical variants, batches."""
