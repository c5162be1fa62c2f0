use captains_api::crew::v1::Admiral;
