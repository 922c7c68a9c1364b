"""These tests run commands as a user types them."""

from fresh_process import no_session_of_the_caller

__all__ = ["no_session_of_the_caller"]
