//! The tables of PROJECT, and the commands that create and delete each.

/// The tables of PROJECT, each with its name, in any order.
pub fn tables(project: &[u8]) -> Vec<(String, toml::Table)> {
    let text = std::str::from_utf8(project).expect("text");
    let parsed: toml::Table = text.parse().expect("TOML");
    let arrays = ["api", "controller", "webhook"].map(|name| (name, parsed.get(name)));
    let mut tables = Vec::new();
    for (name, array) in arrays {
        for table in array.and_then(toml::Value::as_array).into_iter().flatten() {
            let table = table.as_table().expect("a table").clone();
            tables.push((name.to_owned(), table));
        }
    }
    tables
}

fn word<'a>(table: &'a toml::Table, key: &str) -> &'a str {
    table.get(key).and_then(toml::Value::as_str).unwrap_or("")
}

/// The flags that select the kind of a table.
fn kind_of(table: &toml::Table) -> String {
    let group = match word(table, "full_group") {
        "" => "core",
        group => group,
    };
    let (version, kind) = (word(table, "version"), word(table, "kind"));
    format!("--group {group} --domain '' --version {version} --kind {kind}")
}

/// The flags for the webhooks of a table.
fn webhooks_of(table: &toml::Table) -> String {
    let admission = ["defaulting", "validation"].into_iter();
    let admission = admission.filter(|name| table.contains_key(*name));
    let flags = admission.fold(String::new(), |flags, name| flags + " --" + name);
    let spokes = table.get("spokes").and_then(toml::Value::as_array);
    let spokes = spokes.into_iter().flatten().filter_map(toml::Value::as_str);
    let spokes: Vec<&str> = spokes.collect();
    if spokes.is_empty() {
        return flags;
    }
    format!("{flags} --conversion --spoke {}", spokes.join(","))
}

/// The command that deletes a table.
pub fn delete_of((name, table): &(String, toml::Table)) -> String {
    match name.as_str() {
        "api" => format!("kbr delete api {}", kind_of(table)),
        "controller" => format!(
            "kbr delete controller --controller-name {}",
            word(table, "name")
        ),
        _ => format!(
            "kbr delete webhook {}{}",
            kind_of(table),
            webhooks_of(table)
        ),
    }
}

/// The command that has created a table.
pub fn create_of((name, table): &(String, toml::Table)) -> String {
    let kind = kind_of(table);
    match name.as_str() {
        "api" => format!("kbr create api {kind} --resource --controller=false"),
        "controller" => {
            let name = word(table, "name");
            let of = external_of(table);
            format!(
                "kbr create api {kind} --resource=false --controller --controller-name {name}{of}"
            )
        }
        _ => format!(
            "kbr create webhook {kind}{}{}",
            webhooks_of(table),
            external_of(table)
        ),
    }
}

fn external_of(table: &toml::Table) -> String {
    match word(table, "external_crate") {
        "" => String::new(),
        name => format!(
            " --external-crate {name} --external-type {}",
            word(table, "type")
        ),
    }
}
