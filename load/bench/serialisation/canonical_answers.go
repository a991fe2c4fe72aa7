package main

import "hopwise/load/internal/shop"

// This file has the answers in canonical form, with the fields in the order in which Python writes them.

type browse struct {
	Products []struct {
		ID      int64         `json:"id"`
		Title   string        `json:"title"`
		Price   shop.Money    `json:"price"`
		Stock   int64         `json:"stock"`
		Reviews []shop.Review `json:"reviews"`
	} `json:"products"`
}

type product struct {
	ID          int64      `json:"id"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Category    string     `json:"category"`
	Price       shop.Money `json:"price"`
	Stock       int64      `json:"stock"`
}

type login struct {
	ID    int64  `json:"id"`
	Email string `json:"email"`
	Name  string `json:"name"`
}

type orderHistory struct {
	UserID int64 `json:"user_id"`
	Orders []struct {
		ID            int64      `json:"id"`
		Status        string     `json:"status"`
		PlacedAt      string     `json:"placed_at"`
		Total         shop.Money `json:"total"`
		PaymentStatus string     `json:"payment_status"`
		Lines         []struct {
			ProductID int64      `json:"product_id"`
			Title     string     `json:"title"`
			Quantity  int64      `json:"quantity"`
			UnitPrice shop.Money `json:"unit_price"`
		} `json:"lines"`
	} `json:"orders"`
}

type checkout struct {
	ID     int64      `json:"id"`
	Status string     `json:"status"`
	Total  shop.Money `json:"total"`
	Lines  []struct {
		ProductID int64      `json:"product_id"`
		Quantity  int64      `json:"quantity"`
		UnitPrice shop.Money `json:"unit_price"`
	} `json:"lines"`
}

type updateProfile struct {
	ID      int64   `json:"id"`
	Address address `json:"address"`
}

type address struct {
	Recipient   string `json:"recipient"`
	Street      string `json:"street"`
	City        string `json:"city"`
	PostalCode  string `json:"postal_code"`
	CountryCode string `json:"country_code"`
}

type orderStatus struct {
	ID      int64      `json:"id"`
	Status  string     `json:"status"`
	Total   shop.Money `json:"total"`
	Payment struct {
		Status string     `json:"status"`
		Amount shop.Money `json:"amount"`
	} `json:"payment"`
}

type bulkLines struct {
	Lines []struct {
		ID        int64      `json:"id"`
		OrderID   int64      `json:"order_id"`
		UserID    int64      `json:"user_id"`
		Status    string     `json:"status"`
		PlacedAt  string     `json:"placed_at"`
		ProductID int64      `json:"product_id"`
		Quantity  int64      `json:"quantity"`
		UnitPrice shop.Money `json:"unit_price"`
	} `json:"lines"`
}

type document struct {
	ID       int64 `json:"id"`
	Sections []struct {
		Title   string `json:"title"`
		Records []struct {
			Text  string     `json:"text"`
			Count int64      `json:"count"`
			Value float64    `json:"value"`
			OK    bool       `json:"ok"`
			At    string     `json:"at"`
			Price shop.Money `json:"price"`
		} `json:"records"`
	} `json:"sections"`
}
