"""Reports: the change report as a document, and how it is put together, without a policy and without pages."""
