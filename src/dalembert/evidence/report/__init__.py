"""A run and what is known of its model as one HTML page."""
