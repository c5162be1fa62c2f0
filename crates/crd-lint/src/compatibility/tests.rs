use serde_json::json;
