"""Reports: the change report as a document, how it is put together, and how it is checked again."""
