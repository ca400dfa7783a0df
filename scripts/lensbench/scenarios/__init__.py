"""Task sets made from a repository; nothing in them is believed that it does not show (docs/generating.md).

pinning    which repository, at which revision
survey     what the tree and its history hold
mining/    tasks made of such facts, without a model
asking     tasks written by the agent under test
problems   what is wrong with a task, each with a typed reason
trying     what an agent without a model, one search, and an agent that knows the facts make of it
rounds     what fails goes back with the reason, a bounded number of times
writing    the set, the report, the page for a person
"""
