"""Policy over ports: async, and free of any vendor."""
