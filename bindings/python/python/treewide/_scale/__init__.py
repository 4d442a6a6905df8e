"""What `treewide.scale` is made of. Its modules show what programs use; nothing else imports these."""
