"""One module a paper: published figures beside measured ones."""
