"""The model chosen under the goal: candidates, their race, and what the report says of it."""
