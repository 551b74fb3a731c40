"""Programs: a goal over the rates of some data, which every solver starts from."""
