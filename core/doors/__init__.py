"""The two doors: the one way in (`ingress`, with its `listener`) and the one way out (`outbound`)."""
