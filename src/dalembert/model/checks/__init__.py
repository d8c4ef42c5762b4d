"""The checks of a model, one file for each kind of element; `model/check` calls them in order."""
