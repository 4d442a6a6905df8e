"""The inside of `treewide.scale`, whose modules show what programs use. Nothing else imports these."""
