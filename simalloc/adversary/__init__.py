"""The worst that a program can do to a policy, by looking at where it puts things."""

from simalloc.adversary.catalogue import ADVERSARIES, attack, played
from simalloc.adversary.game import Game

__all__ = ["ADVERSARIES", "Game", "attack", "played"]
