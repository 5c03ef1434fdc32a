"""Rendering: a complete change report document laid out as HTML and Markdown; and `ChangeReport`, as users hold it."""
