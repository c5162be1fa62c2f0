# EcsBinding: a label on each binding and on the node that it names, and nothing else.
kbr init --project-name ecsbinding --domain hopegi.com
kbr create api --group '' --version v1 --kind EcsBinding --plural ecsbinding --singular ecsbinding --short-name ecsb --namespaced=false --resource --controller
edit api/src/hopegi_com/v1/ecsbinding.rs src/controllers/ecsbinding.rs tests/integration/ecsbinding.rs
edit config/samples/hopegi.com_v1_ecsbinding.yaml README.md
kbr manifests
