"""Walks: any unit may move at any term, to any value; what they cost, and floors for every term."""
