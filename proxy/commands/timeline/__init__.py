"""The report as a picture: a page for a browser, and a trace for Perfetto."""
