package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/settings"
)

// Page is the help of one command, for the terminal and for its man page.
type Page struct {
	Use, Short string
	Text       []string // paragraphs
	Commands   [][2]string
	Groups     []flagGroup
	Examples   []string
}

// flagGroup is flags under one heading.
type flagGroup struct {
	Heading string
	Formats bool // options that formats declare
	Flags   []Flag
}

// Flag is a flag in the help.
type Flag struct {
	Name, Text string // "-o, --output DIR"
	long       string // "--output"
	often      bool   // described by the short help
}

// groupOrder is the order of headings, as settings.Keys has it. Others follow, then those of
// formats, and last the one for everything else.
var groupOrder = func() (out []string) {
	for i := range settings.Keys {
		if g := settings.Keys[i].Group; g != "" && !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}()

// Often is the annotation of flags that the short help describes.
const Often = "often"

// ShortHelp shortens a command's help: it describes these flags and names the others, which
// --help-all describes.
func ShortHelp(c *cobra.Command, names ...string) {
	for _, name := range names {
		c.Flags().SetAnnotation(name, Often, nil)
	}
	c.Flags().VarPF(&helpAll{c}, "help-all", "", "help with all flags").NoOptDefVal = "true"
}

// helpAll is the flag --help-all, which sets --help.
type helpAll struct{ c *cobra.Command }

func (v *helpAll) Set(string) error {
	v.c.InitDefaultHelpFlag()
	return v.c.Flags().Set("help", "true")
}

func (v *helpAll) String() string { return "false" }

// Type is that of a flag without a value.
func (v *helpAll) Type() string { return "bool" }

// PageOf collects a command's help.
func PageOf(c *cobra.Command) Page {
	p := Page{Use: c.UseLine(), Short: c.Short}
	for para := range strings.SplitSeq(strings.TrimSpace(c.Long), "\n\n") {
		if para != "" {
			p.Text = append(p.Text, strings.Join(strings.Fields(para), " "))
		}
	}
	p.Text = append(p.Text, "Exit codes: "+exitCodes+".")
	for _, s := range c.Commands() {
		if s.IsAvailableCommand() {
			p.Commands = append(p.Commands, [2]string{s.Name(), s.Short})
		}
	}
	p.Groups = groupsOf(c)
	for line := range strings.SplitSeq(c.Example, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			p.Examples = append(p.Examples, line)
		}
	}
	return p
}

// groupsOf are the flags of a command under their headings.
func groupsOf(c *cobra.Command) (groups []flagGroup) {
	for _, h := range groupOrder {
		groups = append(groups, flagGroup{Heading: h})
	}
	rest := flagGroup{Heading: "Options"}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		_, common := f.Annotations[Often]
		shown := Flag{flagName(f), flagText(f), "--" + f.Name, common}
		heading, owners := f.Annotations[Group], f.Annotations[formatsOf]
		switch {
		case f.Hidden:
		case owners == nil && heading == nil:
			rest.Flags = append(rest.Flags, shown)
		default:
			g := flagGroup{Formats: owners != nil}
			if g.Heading = strings.Join(heading, ""); g.Formats {
				g.Heading = "Options of " + strings.Join(owners, ", ")
			}
			at := slices.IndexFunc(groups, func(o flagGroup) bool { return o.Heading == g.Heading })
			if at < 0 {
				at, groups = len(groups), append(groups, g)
			}
			groups[at].Flags = append(groups[at].Flags, shown)
		}
	})
	slices.SortStableFunc(groups, func(a, b flagGroup) int {
		if a.Formats == b.Formats {
			return 0
		} else if b.Formats {
			return -1
		}
		return 1
	})
	return slices.DeleteFunc(append(groups, rest), func(g flagGroup) bool { return g.Flags == nil })
}

func flagName(f *pflag.Flag) string {
	s := "--" + f.Name
	if f.Shorthand != "" {
		s = "-" + f.Shorthand + ", " + s
	}
	if t := f.Value.Type(); t != "bool" {
		if t == "string" || t == "stringSlice" {
			t = "TEXT"
		}
		if name, _ := pflag.UnquoteUsage(f); name != "" && strings.Contains(f.Usage, "`") {
			t = name
		}
		s += " " + t
	}
	return s
}

// flagText describes a flag. If the description begins with the form of its value, the form goes
// beside the name.
func flagText(f *pflag.Flag) string {
	_, s := pflag.UnquoteUsage(f)
	if strings.HasPrefix(f.Usage, "`") {
		if _, text, found := strings.Cut(f.Usage, "`: "); found {
			s = text
		}
	}
	if d := f.DefValue; d != "" && d != "false" && d != "[]" && d != "0" {
		s += " [" + d + "]"
	}
	return s
}

// helpColumns is how wide help is, where the terminal is not narrower.
const helpColumns = 96

// Help shows a command's help: of a command with many flags those that are used often, unless
// all are asked for.
func (o *IO) Help(c *cobra.Command) {
	w, p, columns := o.Out, PageOf(c), helpColumns
	if o.OutColumns > 0 {
		columns = min(columns, o.OutColumns)
	}
	all := c.Flags().Lookup("help-all")
	short := all != nil && !all.Changed
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", p.Short, p.Use)
	if len(p.Examples) > 0 {
		fmt.Fprintf(w, "\nExamples:\n  %s\n", strings.Join(p.Examples, "\n  "))
	}
	if short { // the first paragraph
		p.Text = p.Text[:1]
	}
	for _, t := range p.Text {
		fmt.Fprintf(w, "\n%s\n", wrap(t, 0, columns))
	}
	if len(p.Commands) > 0 {
		fmt.Fprintf(w, "\nCommands:\n")
		for _, c := range p.Commands {
			fmt.Fprintf(w, "  %-12s %s\n", c[0], c[1])
		}
	}
	var more []string
	ofFormats := 0
	for _, g := range p.Groups {
		if short {
			g.Flags = slices.DeleteFunc(g.Flags, func(f Flag) bool {
				switch {
				case f.often:
					return false
				case g.Formats:
					ofFormats++
				default:
					more = append(more, f.long)
				}
				return true
			})
		}
		g.write(w, columns)
	}
	if len(more) > 0 {
		fmt.Fprintf(w, "\nMore flags, described by --help-all:\n  %s\n", wrap(strings.Join(more, " "), 2, columns))
	}
	if ofFormats > 0 {
		fmt.Fprintf(w, "\nFlags of formats (%d): shardify formats NAME, and --help-all\n", ofFormats)
	}
}

func (g *flagGroup) write(w io.Writer, columns int) {
	if len(g.Flags) > 0 {
		fmt.Fprintf(w, "\n%s:\n", g.Heading)
	}
	for _, f := range g.Flags {
		const column = 30
		name := "  " + f.Name
		if len(name) >= column {
			name += "\n" + strings.Repeat(" ", column)
		}
		fmt.Fprintf(w, "%-*s%s\n", column, name, wrap(f.Text, column, columns))
	}
}

// wrap breaks text into lines of up to so many columns, the first already indented.
func wrap(s string, indent, columns int) string {
	return strings.Join(printable.Wrap(s, columns-indent), "\n"+strings.Repeat(" ", indent))
}

// FlagError turns an error of flag parsing into one of usage that names the flag
// that was meant.
func FlagError(c *cobra.Command, err error) error {
	out := shardify.Usage("%v", err)
	if e, ok := err.(*pflag.NotExistError); ok && e.GetSpecifiedShortnames() == "" {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if m := settings.Meant(e.GetSpecifiedName(), names, "--"); m != "" {
			out = shardify.Hint(out, m)
		}
	}
	if e, ok := err.(*pflag.InvalidValueError); ok {
		out = shardify.Usage("--%s %s", e.GetFlag().Name, wrongValue(e.GetFlag(), e.GetValue(), e.Unwrap()))
	}
	return shardify.Hint(out, "see: "+c.CommandPath()+" --help")
}

// wrongValue says what a flag wants instead of a value.
func wrongValue(f *pflag.Flag, value string, err error) string {
	if want := wantOf(f); want != "" {
		return fmt.Sprintf("%q: want %s", value, want)
	}
	return err.Error()
}

// wantOf is what a flag takes whose type is pflag's own: its errors are those of Go's
// functions. "" for our types.
func wantOf(f *pflag.Flag) string {
	switch t := f.Value.Type(); t {
	case "bool":
		return "true or false"
	case "duration":
		return "a time with its unit, such as 90s, 10m or 2h"
	case "float32", "float64":
		return "a number"
	case "uint", "uint32", "uint64":
		return "a whole number from 0"
	case "int", "int32", "int64":
		return "a whole number"
	}
	return ""
}

// Manual writes the page as a man page.
func Manual(w io.Writer, name, section string, p Page) {
	esc := strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace
	text := func(s string) string {
		if s = esc(s); s != "" && strings.ContainsRune(".'", rune(s[0])) {
			s = `\&` + s
		}
		return s
	}
	fmt.Fprintf(w, ".TH %q %q\n.SH NAME\n%s \\- %s\n", strings.ToUpper(name), section, esc(name), text(p.Short))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B %s\n", text(p.Use))
	if len(p.Text) > 0 {
		fmt.Fprint(w, ".SH DESCRIPTION\n")
		for _, t := range p.Text {
			fmt.Fprintf(w, ".PP\n%s\n", text(t))
		}
	}
	if len(p.Commands) > 0 {
		fmt.Fprint(w, ".SH COMMANDS\n")
		for _, c := range p.Commands {
			fmt.Fprintf(w, ".TP\n.B %s\n%s\n", text(c[0]), text(c[1]))
		}
	}
	for _, g := range p.Groups {
		fmt.Fprintf(w, ".SH %s\n", strings.ToUpper(g.Heading))
		for _, f := range g.Flags {
			fmt.Fprintf(w, ".TP\n.B %s\n%s\n", text(f.Name), text(f.Text))
		}
	}
	if len(p.Examples) > 0 {
		fmt.Fprint(w, ".SH EXAMPLES\n.nf\n")
		for _, e := range p.Examples {
			fmt.Fprintln(w, text(e))
		}
		fmt.Fprint(w, ".fi\n")
	}
}

// Commands lists a command and all below it that people may use.
func Commands(c *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{c}
	for _, s := range c.Commands() {
		if s.IsAvailableCommand() && s.Name() != "help" && s.Name() != "completion" {
			out = append(out, Commands(s)...)
		}
	}
	return slices.Clip(out)
}
