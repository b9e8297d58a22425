"""Adversarial programs, which choose their requests by the addresses that a policy assigned."""

from simalloc.adversary.catalogue import ADVERSARIES, attack, played
from simalloc.adversary.game import Game

__all__ = ["ADVERSARIES", "Game", "attack", "played"]
