"""The WeChat Official Account: signed and encrypted pushes, passive replies, customer-service messages."""
