"""Adversarial programs, which observe the addresses that a policy assigns and choose by them."""

from simalloc.adversary.catalogue import ADVERSARIES, attack, played
from simalloc.adversary.game import Game

__all__ = ["ADVERSARIES", "Game", "attack", "played"]
