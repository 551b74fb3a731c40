"""From a model and rows to a rule: the fit of PlugInClassifier."""
