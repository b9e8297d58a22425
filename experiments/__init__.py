"""Experiments, one package per page: published figures beside measured figures."""
