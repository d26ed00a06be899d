# SPDX-License-Identifier: Apache-2.0
"""What a recording refuses."""


class Refusal(Exception):
    """Says what cannot be recorded, the line of the user's code that asks for it, and the way out."""
