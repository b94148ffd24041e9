set -eu
tokens="text=blend/tokenizer.json append-eod=<|end|> empty=drop"
shardify convert blend/stories.txt --from text --text-docs paragraph --tokenize "$tokens" -o blend-tokens/stories --format megatron
shardify convert blend/sums.txt --from text --text-docs line --tokenize "$tokens" -o blend-tokens/sums --format megatron
shardify convert blend/code.jsonl --columns text --tokenize "$tokens" -o blend-tokens/code --format megatron
shardify blend blend-tokens --epochs sums=3 --epochs code=0.5 -o blend.txt
