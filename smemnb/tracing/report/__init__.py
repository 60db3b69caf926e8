"""A trace as a reader sees it: text, HTML, and the bank map of one request."""
