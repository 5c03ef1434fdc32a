"""Rendering: a complete change report document laid out as HTML and Markdown."""
