"""What two labs or more need, in the order in which data flows: data, model, training, figures and check."""
