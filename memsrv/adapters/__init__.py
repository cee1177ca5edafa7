"""One vendor each, behind one port each: `<port>_<vendor>`."""
