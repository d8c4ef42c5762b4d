"""The scene of a model: shapes and motion as one value for pages, videos and pictures."""
