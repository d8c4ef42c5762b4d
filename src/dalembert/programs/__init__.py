"""Programs: straight-line code that is counted, run, exported and printed."""
