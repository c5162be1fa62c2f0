//! `IPAllocation`.

use std::net::IpAddr;

/// The desired state of an `IPAllocation`.
#[derive(
    kube::CustomResource,
    kube::KubeSchema,
    Clone,
    Debug,
    Default,
    PartialEq,
    serde::Serialize,
    serde::Deserialize,
)]
#[kube(
    group = "tsi.tiduyun.com",
    version = "v1alpha1",
    kind = "IPAllocation",
    plural = "ipallocations",
    singular = "ipallocation",
    derive = "Default",
    derive = "PartialEq",
    doc = "An address that is held for an `IPClaim`. Its name is the address, so there cannot be two of the same. Only the operator creates them.",
    // One name for each address: 10.0.0.1, and 2001-db8-0-0-0-0-0-1 in place of 2001:db8::1.
    validation = Rule::new(
        "isIP(self.metadata.name.replace('-', ':')) && self.metadata.name.matches(\
         '^([0-9.]+|(0|[1-9a-f][0-9a-f]{0,3})(-(0|[1-9a-f][0-9a-f]{0,3})){7})$')"
    ).message("the name is not that of an address, such as 10.0.0.1 or 2001-db8-0-0-0-0-0-1"),
    printcolumn(name = "Pool", type_ = "string", json_path = ".spec.pool"),
    printcolumn(
        name = "Namespace",
        type_ = "string",
        json_path = ".spec.claim.namespace"
    ),
    printcolumn(name = "Claim", type_ = "string", json_path = ".spec.claim.name"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = ("self == oldSelf", "an allocation cannot be changed"))]
pub struct IPAllocationSpec {
    /// The name of the pool that the address is from.
    #[schemars(length(min = 1, max = 63))]
    pub pool: String,

    /// The claim that holds the address.
    pub claim: IPClaimReference,
}

/// Refers to one claim, and to no later one of the same name.
#[derive(
    kube::KubeSchema, Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub struct IPClaimReference {
    /// Its namespace.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,

    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// Its uid.
    #[schemars(length(min = 1, max = 63))]
    pub uid: String,
}

impl IPAllocation {
    /// The label that has the name of the pool.
    pub const POOL_LABEL: &str = "tsi.tiduyun.com/pool";

    /// The name of the allocation of an address. A name cannot have colons, nor begin or end with a hyphen, so an IPv6
    /// address is written with all of its eight groups.
    #[must_use]
    pub fn name_of(address: IpAddr) -> String {
        match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => address
                .segments()
                .map(|group| format!("{group:x}"))
                .join("-"),
        }
    }

    /// The address that its name stands for.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        let name = self.metadata.name.as_ref()?;
        let address = name.replace('-', ":").parse().ok()?;
        (Self::name_of(address) == *name).then_some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(name: &str) -> Option<IpAddr> {
        IPAllocation::new(name, IPAllocationSpec::default()).address()
    }

    #[test]
    fn an_address_and_the_name_of_its_allocation_stand_for_each_other() {
        for (text, name) in [
            ("10.0.0.1", "10.0.0.1"),
            ("2001:db8::1", "2001-db8-0-0-0-0-0-1"),
            ("::", "0-0-0-0-0-0-0-0"),
        ] {
            let parsed: IpAddr = text.parse().unwrap();
            assert_eq!(IPAllocation::name_of(parsed), name);
            assert_eq!(address(name), Some(parsed));
        }
    }

    #[test]
    fn a_second_name_of_an_address_is_no_name_of_it() {
        for name in ["2001-0db8-0-0-0-0-0-1", "2001-db8--1", "010.0.0.1", "one"] {
            assert_eq!(address(name), None, "{name}");
        }
    }
}
