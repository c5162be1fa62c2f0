//! The ports of the operator: values that occur in several objects.

use serde_json::{Value, json};

use super::tokens::{METRICS, conditional, each_container};
use super::values::Row;

/// Stand for ports in the marked objects, as [`METRICS`] does.
const PROBES: &str = "kbrProbesPortKbr";
const WEBHOOK: &str = "kbrWebhookPortKbr";

/// A port of the manager's container.
#[derive(Debug)]
struct Kind {
    /// Its name in the container.
    name: &'static str,
    value: &'static str,
    mark: &'static str,
    /// What it is for.
    about: &'static str,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "metrics",
        value: "metrics.port",
        mark: METRICS,
        about: "The port of the metrics",
    },
    Kind {
        name: "webhook",
        value: "webhook.port",
        mark: WEBHOOK,
        about: "The port of the operator's webhook server; that of the Service stays the same",
    },
    Kind {
        name: "probes",
        value: "manager.healthProbe.port",
        mark: PROBES,
        about: "The port of the probes",
    },
];

/// The flag that has the port of webhooks, if it is not the default.
const FLAG: &str = "--webhook-port=";

/// The ports of a project.
#[derive(Clone, Debug, Default)]
pub struct Ports(Vec<(&'static Kind, u64)>);

impl Ports {
    /// Those in the containers of Deployments.
    pub fn new<'a>(objects: impl Iterator<Item = &'a Value>) -> Self {
        let mut ports: Vec<(&'static Kind, u64)> = Vec::new();
        let containers = objects
            .filter(|object| object["kind"] == "Deployment")
            .map(|object| &object["spec"]["template"]["spec"]["containers"]);
        for container in containers.filter_map(Value::as_array).flatten() {
            for port in container["ports"].as_array().into_iter().flatten() {
                let kind = KINDS.iter().find(|kind| port["name"] == kind.name);
                let number = port["containerPort"].as_u64();
                let Some((kind, number)) = kind.zip(number) else {
                    continue;
                };
                if !ports.iter().any(|(other, _)| other.name == kind.name) {
                    ports.push((kind, number));
                }
            }
        }
        Self(ports)
    }

    /// Replaces the ports in an object.
    pub fn mark(&self, object: &mut Value) {
        match object["kind"].as_str() {
            Some("Deployment") => each_container(object, |container| {
                self.numbers(container);
                self.flags(container);
            }),
            Some("Service" | "NetworkPolicy") => self.numbers(&mut object["spec"]),
            _ => {}
        }
    }

    fn numbers(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.numbers(item)),
            Value::Object(parts) => {
                for (key, part) in parts {
                    let is_port = matches!(key.as_str(), "port" | "targetPort" | "containerPort");
                    let number = part.as_u64().filter(|_| is_port);
                    match self.0.iter().find(|(_, port)| Some(*port) == number) {
                        Some((kind, _)) => *part = json!(kind.mark),
                        None => self.numbers(part),
                    }
                }
            }
            _ => {}
        }
    }

    fn flags(&self, container: &mut Value) {
        let has_webhook = container["ports"]
            .as_array()
            .is_some_and(|ports| ports.iter().any(|port| port["name"] == "webhook"));
        let Some(Value::Array(flags)) = container.get_mut("args") else {
            return;
        };
        for (kind, port) in &self.0 {
            for flag in flags.iter_mut().filter_map(|flag| match flag {
                Value::String(flag) => Some(flag),
                _ => None,
            }) {
                let (old, new) = (format!("-bind-address=:{port}"), kind.mark);
                if flag.ends_with(&old) || *flag == format!("{FLAG}{port}") {
                    flag.truncate(flag.len() - port.to_string().len());
                    flag.push_str(new);
                }
            }
            let is_set = |flag: &Value| flag.as_str().is_some_and(|it| it.starts_with(FLAG));
            if kind.name == "webhook" && has_webhook && !flags.iter().any(is_set) {
                flags.push(json!(format!("{FLAG}{IF_SET}")));
            }
        }
    }

    /// Replaces what [`Self::mark`] wrote with actions of a template.
    pub fn expand(&self, text: &str) -> String {
        let mut expanded = text.to_owned();
        for (kind, port) in &self.0 {
            let value = format!("(int .Values.{})", kind.value);
            let action = format!("{{{{ int .Values.{} }}}}", kind.value);
            if kind.name == "webhook" {
                expanded = if_set(&expanded, &format!("ne {value} {port}"), &action);
            }
            expanded = expanded.replace(kind.mark, &action);
        }
        expanded
    }

    /// The paths of the values.
    pub fn values(&self) -> Vec<&'static str> {
        self.0.iter().map(|(kind, _)| kind.value).collect()
    }

    /// The values of the chart.
    pub fn rows(&self) -> Vec<Row> {
        let schema = || json!({ "type": "integer", "minimum": 1, "maximum": 65535 });
        let row =
            |(kind, port): &(&Kind, u64)| Row::new(kind.value, json!(port), schema(), kind.about);
        self.0.iter().map(row).collect()
    }
}

/// Stands for a port in a line that exists only if the port is not the default.
const IF_SET: &str = "kbrWebhookPortIfSetKbr";

fn if_set(text: &str, condition: &str, action: &str) -> String {
    conditional(text, IF_SET, condition, action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_replaced_where_it_is_one() {
        let deployment = json!({
            "kind": "Deployment",
            "spec": { "replicas": 8443, "template": { "spec": { "containers": [{
                "args": ["--metrics-bind-address=:8443", "--other=:8443"],
                "ports": [{ "name": "metrics", "containerPort": 8443 }, { "name": "webhook", "containerPort": 9443 }],
            }] } } },
        });
        let ports = Ports::new([&deployment].into_iter());
        let mut marked = deployment.clone();
        ports.mark(&mut marked);
        let container = &marked["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(marked["spec"]["replicas"], 8443);
        assert_eq!(container["ports"][0]["containerPort"], METRICS);
        assert_eq!(
            container["args"],
            json!([
                format!("--metrics-bind-address=:{METRICS}"),
                "--other=:8443",
                format!("{FLAG}{IF_SET}")
            ])
        );
        let mut service = json!({ "kind": "Service", "spec": { "ports": [{ "port": 443, "targetPort": 9443 }] } });
        ports.mark(&mut service);
        assert_eq!(
            service["spec"]["ports"],
            json!([{ "port": 443, "targetPort": WEBHOOK }])
        );
    }

    #[test]
    fn the_flag_of_the_default_is_left_out() {
        let deployment = json!({ "kind": "Deployment", "spec": { "template": { "spec": { "containers": [{ "ports": [{ "name": "webhook", "containerPort": 9443 }] }] } } } });
        let ports = Ports::new([&deployment].into_iter());
        let expected = "a\n{{- if ne (int .Values.webhook.port) 9443 }}\n- --webhook-port={{ int .Values.webhook.port }}\n{{- end }}\n";
        assert_eq!(ports.expand(&format!("a\n- {FLAG}{IF_SET}\n")), expected);
    }
}
