"""One module per family of labelled sets: how its documents and evidence are laid out."""
