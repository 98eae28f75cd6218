"""Studies: discrete candidates proposed, tried and recorded, by processes that may be killed."""
