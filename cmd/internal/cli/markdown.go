package cli

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes the page of a command in Markdown.
func Markdown(w io.Writer, name string, p Page) {
	fmt.Fprintf(w, "# %s\n\n%s.\n\n```sh\n%s\n```\n", name, strings.ToUpper(p.Short[:1])+p.Short[1:], p.Use)
	for _, t := range p.Text {
		fmt.Fprintf(w, "\n%s\n", markdown(t))
	}
	if len(p.Examples) > 0 {
		fmt.Fprintf(w, "\n## Examples\n\n```sh\n%s\n```\n", strings.Join(p.Examples, "\n"))
	}
	if len(p.Commands) > 0 {
		fmt.Fprint(w, "\n## Commands\n\n| command | what it does |\n|---|---|\n")
		for _, c := range p.Commands {
			fmt.Fprintf(w, "| `%s` | %s |\n", c[0], markdown(c[1]))
		}
	}
	for _, g := range p.Groups {
		fmt.Fprintf(w, "\n## %s\n\n| flag | what it does |\n|---|---|\n", g.Heading)
		for _, f := range g.Flags {
			name, value, _ := strings.Cut(f.Name, f.long)
			if value = strings.TrimSpace(value); value != "" {
				value = " `" + strings.ReplaceAll(value, "|", `\|`) + "`"
			}
			fmt.Fprintf(w, "| `%s%s`%s | %s |\n", name, f.long, value, markdown(f.Text))
		}
	}
}

// markdown is a text with nothing that Markdown takes for itself.
var markdown = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "|", `\|`, "[", `\[`, "`", "\\`").Replace
