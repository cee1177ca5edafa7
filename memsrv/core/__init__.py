"""Pure functions: no clock, no network, no disk, no settings."""
