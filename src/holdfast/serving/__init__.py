"""Jobs for programs and agents: read-only, on files that somebody named."""
