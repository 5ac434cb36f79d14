"""Certificates of nodes, links between their services, the Peer service, and beats."""
