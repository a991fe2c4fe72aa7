package graphql

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"

	"hopwise/load/internal/journey"
)

//go:embed documents/*.graphql
var files embed.FS

// document is one persisted query: its text is registered before the load, then only its hash is sent.
type document struct {
	text string
	hash string // SHA-256 of the text, hexadecimal
}

func load(name string) document {
	text, err := files.ReadFile("documents/" + name + ".graphql")
	if err != nil {
		panic(fmt.Sprintf("graphql: %v", err)) // the files are part of the program
	}
	sum := sha256.Sum256(text)
	return document{string(text), hex.EncodeToString(sum[:])}
}

// documents holds what each journey sends, in order.
func loadDocuments() map[journey.Name][]document {
	all := map[journey.Name][]document{}
	for _, name := range journey.Names() {
		all[name] = []document{load(string(name))}
	}
	all[journey.Login] = append(all[journey.Login], load("profile"))
	return all
}
