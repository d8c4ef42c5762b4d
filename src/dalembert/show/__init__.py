"""What people see: equations as LaTeX and text, plots, data sets. Import the module you need; each loads its tools late."""
