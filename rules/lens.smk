"""Indexes each repository once for the embedded server, if an MCP file contains `--cache ${lens_cache}`.

needs   repositories.json
leaves  indexes.json: the folder with the index of each repository; the indexes in the cache, which runs only read
"""


rule indexes:
    input:
        rules.repositories.output,
    output:
        f"{BENCH}/indexes.json",
    log:
        f"{BENCH}/logs/indexes.log",
    localrule: True
    params:
        cache=SCHEDULE.config.cache,
    message:
        "indexing the repositories for the embedded server"
    shell:
        "exec {PYTHON} lensbench.lens.make_indexes --repositories {input:q} --cache {params.cache:q} --output {output:q}"
        " 2> {log:q}"
