"""The documentation site: its pages, and the scripts that make the rest of them."""
