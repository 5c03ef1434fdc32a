"""What tests share: data, stores, servers, a browser, and what somebody does who forges a report."""
