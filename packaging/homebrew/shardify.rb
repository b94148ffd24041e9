class Shardify < Formula
  desc "Convert scientific data sets into shards that keep GPUs busy"
  homepage "https://github.com/shardify/shardify"
  url "https://github.com/shardify/shardify.git", tag: "v0.1.0"
  license "BSD-3-Clause"
  head "https://github.com/shardify/shardify.git", branch: "main"

  depends_on "go" => :build

  def install
    ENV["CGO_ENABLED"] = "0"
    system "go", "build", *std_go_args(ldflags: "-s -w"), "./cmd/shardify"
    generate_completions_from_executable(bin/"shardify", "completion")
    system bin/"shardify", "man", man1
  end

  test do
    (testpath/"in/cat/a.txt").write "one"
    (testpath/"in/dog/b.txt").write "two"
    system bin/"shardify", "convert", testpath/"in", "-o", testpath/"out"
    system bin/"shardify", "verify", testpath/"out"
  end
end
