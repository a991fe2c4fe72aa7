package graphql

import (
	"hopwise/load/internal/answer"
	"hopwise/load/internal/journey"
)

// The shapes of the answers on the wire, as far as the documents ask for them.

type money struct {
	AmountMinor int64  `json:"amountMinor"`
	Currency    string `json:"currency"`
}

func (m money) canonical() answer.Money {
	return answer.Money{AmountMinor: m.AmountMinor, Currency: m.Currency}
}

type connection[T any] struct {
	Edges []struct {
		Node T `json:"node"`
	} `json:"edges"`
}

type identified struct {
	ID id `json:"id"`
}

type productNode struct {
	ID          id           `json:"id"`
	Title       string       `json:"title"`
	Description string       `json:"description"`
	Category    string       `json:"category"`
	Stock       int64        `json:"stock"`
	Price       money        `json:"price"`
	Reviews     []reviewNode `json:"reviews"`
}

type reviewNode struct {
	ID     id     `json:"id"`
	Rating int64  `json:"rating"`
	Title  string `json:"title"`
}

type orderNode struct {
	ID       id          `json:"id"`
	Status   string      `json:"status"`
	PlacedAt string      `json:"placedAt"`
	Total    money       `json:"total"`
	Payment  paymentNode `json:"payment"`
	Lines    []lineNode  `json:"lines"`
	User     identified  `json:"user"`
}

type paymentNode struct {
	Status string `json:"status"`
	Amount money  `json:"amount"`
}

type lineNode struct {
	ID         id          `json:"id"`
	LineNumber int64       `json:"lineNumber"`
	Quantity   int64       `json:"quantity"`
	UnitPrice  money       `json:"unitPrice"`
	Product    productNode `json:"product"`
	Order      *orderNode  `json:"order"`
}

type userNode struct {
	ID      id                    `json:"id"`
	Email   string                `json:"email"`
	Name    string                `json:"name"`
	Address addressNode           `json:"address"`
	Orders  connection[orderNode] `json:"orders"`
}

type addressNode struct {
	Recipient   string `json:"recipient"`
	Street      string `json:"street"`
	City        string `json:"city"`
	PostalCode  string `json:"postalCode"`
	CountryCode string `json:"countryCode"`
}

func addressOf(a journey.Address) addressNode {
	return addressNode{a.Recipient, a.Street, a.City, a.PostalCode, a.CountryCode}
}

func (a addressNode) canonical() journey.Address {
	return journey.Address{
		City: a.City, CountryCode: a.CountryCode, PostalCode: a.PostalCode, Recipient: a.Recipient, Street: a.Street,
	}
}
