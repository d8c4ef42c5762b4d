"""The description of a mechanical system."""
