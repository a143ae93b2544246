"""Figures, clips and the report page. The only package that imports matplotlib."""
